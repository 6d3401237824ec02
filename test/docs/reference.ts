import { describeCli, exitCodes } from '../../src/cli/index.ts';
import { describeKind, formatSetting, type Setting, settings } from '../../src/config/index.ts';
import { describeApi, describeRights } from '../../src/server/index.ts';

const made = '<!-- Made by scripts/reference.ts; do not edit. -->';

/** Every generated page of the reference: file and content. */
export async function referenceFiles(): Promise<readonly (readonly [file: string, content: string])[]> {
  return [
    ['docs/reference/cli.md', `# Commands\n\n${made}\n\n${exitCodeTable()}\n\n${await describeCli()}`],
    ['docs/reference/openapi.json', `${JSON.stringify(describeApi('0'), null, 1)}\n`],
    ['docs/reference/rights.md', `# Who may take which route\n\n${made}\n\n${describeRights()}\n`],
    ['docs/reference/settings.md', `# Settings\n\n${made}\n\n${settingTable()}\n`],
  ];
}

function exitCodeTable(): string {
  const rows = Object.entries(exitCodes).map(([code, meaning]) => `| ${code} | ${meaning} |`);
  return ['| Exit code | Meaning |', '| --- | --- |', ...rows].join('\n');
}

function settingTable(): string {
  const rows = Object.entries<Setting>(settings).map(([name, setting]) => {
    const cells = [
      `\`${name}\``,
      `\`${String(formatSetting(setting, setting.default))}\``,
      describeKind(setting.kind),
      setting.env === null ? '' : `\`${setting.env}\``,
      setting.change,
      setting.help,
    ];
    return `| ${cells.join(' | ')} |`;
  });
  return [
    '| Name | Default | May be | Environment | Who changes it | Meaning |',
    '| --- | --- | --- | --- | --- | --- |',
    ...rows,
  ].join('\n');
}
