import { setTimeout as sleep } from 'node:timers/promises';

import { openBenchCrew } from './bench-crew.ts';
import { type Figure, figureOf } from './figure.ts';
import { below, isNode, wrapperOf } from './wrappers.ts';

interface SessionFacts {
  id: string;
  pid: number | null;
  state: string;
  openEscalations: { id: string; text: string }[];
}

/** From the moment an agent asks to the question's event at an SSE client, with all sessions there and asking in turns. */
export async function benchQuestion(sessions: number): Promise<Figure[]> {
  const questions = 3;
  const { instance, events, addTasks, dispose } = await openBenchCrew(sessions, questions);
  try {
    await addTasks(sessions);
    const opened = () => events.heard.filter(({ kind }) => kind === 'escalation.opened');
    const all = async (count: number): Promise<SessionFacts[]> => {
      const wanted = async () => opened().length >= count;
      await instance.until(`${count} questions`, wanted, 60_000 + sessions * 3_000);
      return listSessions(instance);
    };
    for (const { id, openEscalations } of await all(sessions)) {
      const sent = await instance.send('POST', `/api/sessions/${id}/answers`, { text: 'Yes.' }, { proof: true });
      if (sent.status >= 300) throw new Error(`${openEscalations[0]?.id} was not answered: ${sent.status}`);
    }
    const asked = (await all(sessions * (1 + questions))).flatMap(({ openEscalations }) => openEscalations);
    const askedAt = new Map(asked.map(({ id, text }) => [id, BigInt(text.replace('asked at ', ''))]));
    const delays = opened().flatMap(({ heardAt, subject }) => {
      const at = askedAt.get(subject.id);
      return at === undefined ? [] : [Number(heardAt - at) / 1e6];
    });
    const parts = { target: { at: 'p95', atMost: 100 }, note: `${sessions} sessions; the target is for 100` } as const;
    return [figureOf('question → SSE client', delays, parts)];
  } finally {
    await dispose();
  }
}

/** From the end of an agent by `kill -9` to CRASHED at an SSE client. */
export async function benchCrash(sessions: number): Promise<Figure[]> {
  const { instance, events, addTasks, dispose } = await openBenchCrew(sessions, 0);
  try {
    await addTasks(sessions);
    const living = await instance.until(
      'all sessions at work',
      async () => {
        const all = await listSessions(instance);
        return all.length >= sessions && all.every((one) => one.state === 'RUNNING' && one.pid !== null) && all;
      },
      60_000 + sessions * 3_000,
    );
    await sleep(1_000); // their first turns have begun
    const delays: number[] = [];
    for (const { id, pid } of living) {
      const killedAt = process.hrtime.bigint();
      process.kill(pid!, 'SIGKILL');
      const crashed = await events.wait(
        ({ kind, subject, facts }) => kind === 'session.moved' && subject.id === id && facts.to === 'CRASHED',
      );
      delays.push(Number(crashed.heardAt - killedAt) / 1e6);
      await sleep(500); // its next process is up: what is measured is this death, not that start
    }
    return [figureOf('kill → CRASHED at an SSE client', delays, { target: { at: 'p95', atMost: 250 } })];
  } finally {
    await dispose();
  }
}

/** From SIGSTOP of an agent in its turn to its flag UNRESPONSIVE at an SSE client. */
export async function benchHang(sessions: number): Promise<Figure[]> {
  const { instance, events, addTasks, dispose } = await openBenchCrew(sessions, 0);
  try {
    await addTasks(sessions);
    const living = await instance.until(
      'all sessions at work',
      async () => {
        const all = await listSessions(instance);
        return all.length >= sessions && all.every((one) => one.state === 'RUNNING' && one.pid !== null) && all;
      },
      60_000 + sessions * 3_000,
    );
    await sleep(3_000); // their first turns have begun, and they have answered a ping
    const delays: number[] = [];
    for (const { id } of living.slice(0, 10)) {
      const stopped = below(wrapperOf(instance.home, id)).filter(isNode);
      const hungAt = process.hrtime.bigint();
      for (const pid of stopped) process.kill(pid, 'SIGSTOP');
      const flagged = await events.wait(
        ({ kind, subject, facts }) =>
          kind === 'session.flagged' && subject.id === id && facts.flag === 'unresponsive' && facts.on === true,
      );
      delays.push(Number(flagged.heardAt - hungAt) / 1e6);
      for (const pid of stopped) process.kill(pid, 'SIGCONT');
    }
    return [figureOf('hang → UNRESPONSIVE at an SSE client', delays, { target: { at: 'p95', atMost: 3_000 } })];
  } finally {
    await dispose();
  }
}

async function listSessions(instance: { get(path: string): Promise<unknown> }): Promise<SessionFacts[]> {
  return ((await instance.get('/api/sessions?limit=200&living=true')) as { items: SessionFacts[] }).items;
}
