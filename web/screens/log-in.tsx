import { type FormEvent, useState } from 'react';

import { firstRun, logIn } from '../api.ts';

/** Log-in, or the first passphrase when the page was opened by the one-use link (`#first-run=…`). */
export function LogIn({ onDone }: { onDone: () => void }) {
  const secret = /first-run=([\w-]+)/.exec(window.location.hash)?.[1];
  const [fault, setFault] = useState('');
  const [isBusy, setBusy] = useState(false);

  const submit = async (event: FormEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    const fields = new FormData(event.currentTarget);
    const name = String(fields.get('name'));
    const passphrase = String(fields.get('passphrase'));
    setBusy(true);
    setFault('');
    try {
      if (secret) await firstRun(secret, name, passphrase);
      else await logIn(name, passphrase);
      window.history.replaceState(null, '', window.location.pathname);
      onDone();
    } catch (error) {
      setFault((error as Error).message);
    } finally {
      setBusy(false);
    }
  };

  return (
    <main className="log-in">
      <form className="card" onSubmit={(event) => void submit(event)}>
        <h1>{secret ? 'Choose the operator’s passphrase' : 'Chantier'}</h1>
        <p className="muted">
          {secret ? (
            'It proves that a human decides. Agents never see it.'
          ) : (
            <>
              Log in to decide. The passphrase was chosen at <code>chantier init</code>.
            </>
          )}
        </p>
        <label htmlFor="name">Name</label>
        <input id="name" name="name" defaultValue="operator" autoComplete="username" required />
        <label htmlFor="passphrase">Passphrase</label>
        <input
          id="passphrase"
          name="passphrase"
          type="password"
          autoComplete={secret ? 'new-password' : 'current-password'}
          minLength={secret ? 8 : undefined}
          required
          autoFocus
        />
        <button className="primary" disabled={isBusy}>
          {secret ? 'Set passphrase' : 'Log in'}
        </button>
        {fault && (
          <p className="bad" role="alert">
            {fault}
          </p>
        )}
      </form>
    </main>
  );
}
