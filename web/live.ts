import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';

/** Follows the event stream and has shown data read again after each event; says whether the stream stands. */
export function useLiveUpdates(): boolean {
  const queries = useQueryClient();
  const [isLive, setLive] = useState(false);
  useEffect(() => {
    const source = new EventSource('/api/events');
    let pending: ReturnType<typeof setTimeout> | undefined;
    const refresh = (): void => {
      pending ??= setTimeout(() => {
        pending = undefined;
        void queries.invalidateQueries();
      }, 150);
    };
    source.addEventListener('open', () => {
      setLive(true);
      refresh();
    });
    source.addEventListener('error', () => setLive(false));
    source.addEventListener('message', refresh);
    source.addEventListener('event', refresh);
    source.addEventListener('reset', refresh);
    return () => {
      clearTimeout(pending);
      source.close();
    };
  }, [queries]);
  return isLive;
}
