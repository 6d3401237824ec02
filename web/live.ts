import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';

/** Follows the event stream and has read again what an event is about; says whether the stream stands. */
export function useLiveUpdates(): boolean {
  const queries = useQueryClient();
  const [isLive, setLive] = useState(false);
  useEffect(() => {
    const source = new EventSource('/api/events');
    let pending: ReturnType<typeof setTimeout> | undefined;
    const stale = new Set<string>();
    const refresh = (names: readonly string[]): void => {
      for (const name of names) stale.add(name);
      pending ??= setTimeout(() => {
        pending = undefined;
        for (const name of stale) void queries.invalidateQueries({ queryKey: [name] });
        stale.clear();
      }, 150);
    };
    const refreshAll = (): void => refresh(['decisions', 'status', 'pull-request']);
    const onEvent = (message: MessageEvent<string>): void => refresh(touchedBy(message.data));
    source.addEventListener('open', () => {
      setLive(true);
      refreshAll();
    });
    source.addEventListener('error', () => setLive(false));
    source.addEventListener('message', onEvent);
    source.addEventListener('reset', refreshAll);
    return () => {
      clearTimeout(pending);
      source.close();
    };
  }, [queries]);
  return isLive;
}

/** Names of the queries that an event makes stale. A diff never is: it is kept by the commits it lies between. */
function touchedBy(data: string): readonly string[] {
  const { kind = '' } = JSON.parse(data) as { kind?: string };
  const [thing = ''] = kind.split('.');
  if (['decision', 'call', 'capability', 'escalation'].includes(thing)) return ['decisions', 'status'];
  if (['pull-request', 'landing', 'verdict', 'check', 'feedback', 'risk', 'repository', 'base'].includes(thing))
    return ['pull-request', 'decisions', 'status'];
  return ['status'];
}
