import { randomBytes } from 'node:crypto';

/**
 * Encloses untrusted text in a block that it cannot close: the fence carries a random word. What stands inside is data for
 * the agent, never an instruction (design section 7 "Reviewers", A-3).
 */
export function dataBlock(label: string, text: string, word: string = randomBytes(6).toString('hex')): string {
  return `<<<DATA ${label} ${word}\n${text}\n${word} DATA>>>`;
}
