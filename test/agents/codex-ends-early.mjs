// codex exec that ends in the middle of its turn, in the middle of a line, with exit code 0.
import { begin, say } from './codex-base.mjs';

begin();
say('so far');
process.stdout.write('{"type":"item.comp');
