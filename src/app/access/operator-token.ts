import { Fault } from '../../kernel/index.ts';
import { readSecretFile, writeSecretFile } from './secret-file.ts';
import { newSecret } from './secrets.ts';

/**
 * The operator CLI's token of this instance: read from `file`, made when missing (mode 0600). Throws `Fault`
 * `operator_token_exposed` when others can read it: then it is no secret any more.
 */
export function ensureOperatorToken(file: string): string {
  const known = readSecretFile(
    file,
    (mode) =>
      new Fault(
        'operator_token_exposed',
        `Others can read ${file} (mode ${mode}): remove it and start the server again to get a new one.`,
      ),
  );
  if (known) return known;
  const token = newSecret();
  writeSecretFile(file, token);
  return token;
}
