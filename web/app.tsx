import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';

import type { WhoamiView } from '../src/wire/index.ts';
import { get, Problem } from './api.ts';
import { Board } from './screens/board.tsx';
import { LogIn } from './screens/log-in.tsx';

/** The console: log-in, then one board of open decisions and living sessions. */
export function App() {
  const [round, setRound] = useState(0);
  const who = useQuery({ queryKey: ['whoami', round], queryFn: () => get<WhoamiView>('/whoami'), retry: false });
  if (who.isPending) return <p className="log-in muted">Loading…</p>;
  if (who.error instanceof Problem && who.error.status < 500) return <LogIn onDone={() => setRound(round + 1)} />;
  if (who.error)
    return (
      <p className="log-in bad" role="alert">
        The server cannot be reached: {who.error.message}
      </p>
    );
  return <Board who={who.data} onEnd={() => setRound(round + 1)} />;
}
