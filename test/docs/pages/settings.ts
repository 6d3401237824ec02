import { describeKind, formatSetting, type Setting, settings } from '../../../src/config/index.ts';
import { code, type Page, page, table } from './page.ts';

const whoChanges = `Who changes it: \`operator\` = the operator's CLI or the console · \`proof\` = with a passphrase or an open terminal ·
\`fresh-proof\` = with the passphrase for this one act · \`restart-only\` = the environment or \`up\`, at the next start.

\`chantier config list\` shows what holds now, \`chantier config set NAME VALUE\` changes it. The environment goes before what was set.`;

/** The table of settings. */
export function settingsPage(): Page {
  const rows = Object.entries<Setting>(settings).map(([name, setting]) => [
    code(name),
    code(String(formatSetting(setting, setting.default))),
    describeKind(setting.kind),
    setting.env === null ? '' : code(setting.env),
    setting.change,
    setting.help,
  ]);
  const head = ['Name', 'Default', 'May be', 'Environment', 'Who changes it', 'Meaning'];
  return page('docs/reference/settings.md', 'Settings', whoChanges, table(head, rows));
}
