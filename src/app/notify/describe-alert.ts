import { forLog } from '../../kernel/index.ts';
import type { AppContext } from '../context.ts';
import { shortTimeIn } from './quiet-hours.ts';
import type { Facts } from './things-to-tell.ts';

/** An alert in our own words; its event holds ids, numbers and codes only. Source: ERR-06, ERR-07, S-45, S-46, S-52. */
export async function describeAlert(ctx: AppContext, subject: string): Promise<{ title: string; text: string }> {
  const event = await ctx.store.read
    .selectFrom('event')
    .select(['kind', 'facts', 'session_id', 'at'])
    .where('id', '=', subject.slice('alert:'.length))
    .executeTakeFirst();
  if (!event) return { title: 'An alert', text: 'Its event is gone; see "chantier events".' };
  const facts = JSON.parse(event.facts) as Facts;
  const session =
    event.session_id === null
      ? undefined
      : await ctx.store.read
          .selectFrom('session')
          .select(['work_key', 'agent'])
          .where('id', '=', event.session_id)
          .executeTakeFirst();
  const name = session?.work_key ?? event.session_id ?? 'a session';
  const zone = ctx.config.get('notify.timeZone');
  const seen = `Seen ${shortTimeIn(zone, Number(event.at))}.`;
  const { title, text } = wordsFor(event.kind, facts, { name, agent: session?.agent ?? 'its agent', zone });
  return { title, text: `${text} ${seen}` };
}

function wordsFor(
  kind: string,
  facts: Facts,
  about: { name: string; agent: string; zone: string },
): { title: string; text: string } {
  const { name, agent, zone } = about;
  switch (kind) {
    case 'session.moved': {
      const state = facts.to === 'START_FAILED' ? 'START_FAILED' : 'CRASHED';
      const next = `Its work is kept. "chantier logs ${name}" shows its end.`;
      return { title: `${state}: ${name}`, text: `${agent} ended: ${word(facts.reason)}. ${next}` };
    }
    case 'session.flagged': {
      const until = shortTimeIn(zone, Number(facts.until));
      return {
        title: `${agent} is limited by its provider until ${until}`,
        text: `${name} is paused and goes on by itself (${word(facts.limit)}).`,
      };
    }
    case 'session.alert':
      return {
        title: `Alert: ${word(facts.alert)}`,
        text: `About ${name}; see "chantier status" and "chantier events".`,
      };
    case 'broker.degraded':
      return { title: 'Broker unavailable — degraded mode', text: 'Nothing is judged until it is back.' };
    case 'broker.recovered':
      return { title: 'Broker is back', text: 'Sessions are compared with what lives now.' };
    default:
      return {
        title: `Difference found: ${name}`,
        text: `Its record and its process differ: ${word(facts.difference)}.`,
      };
  }
}

/** A machine word of a fact. */
function word(fact: Facts[string]): string {
  return forLog(String(fact ?? 'unknown'), 80);
}
