import type { Command } from 'commander';

import type { SettingView } from '../../wire/index.ts';
import type { CliContext } from '../context.ts';
import { failWith, type Outcome } from '../outcome.ts';
import { withProof } from '../options.ts';
import { table } from '../show.ts';

export function define(command: Command, context: CliContext): void {
  command.action(() => command.help());
  context.action(command.command('list', { isDefault: true }).description('List every setting'), async () => {
    const settings = await context.get<SettingView[]>('/api/settings');
    const rows = settings.map((one) => [one.name, String(one.value), one.source, one.form]);
    return { json: settings, text: table(['NAME', 'VALUE', 'FROM', 'MAY BE'], rows) };
  });
  const get = command.command('get').description('Show one setting').argument('<name>', 'Name of the setting');
  context.action(get, async ({ args: [name = ''] }) => {
    const setting = (await context.get<SettingView[]>('/api/settings')).find((one) => one.name === name);
    if (!setting)
      throw failWith('not-found', 'unknown_setting', `There is no setting ${name}; "chantier config" lists them all.`);
    return { json: setting, text: `${setting.name} = ${String(setting.value)} (${setting.source})\n${setting.help}` };
  });
  const set = command
    .command('set')
    .description('Change one setting')
    .argument('<name>', 'Name of the setting')
    .argument('<value>', 'Durations and sizes with their unit');
  withProof(set);
  context.action(set, async ({ args: [name = '', value = ''], options }) => change(context, name, value, options));
}

async function change(context: CliContext, name: string, value: string, options: object): Promise<Outcome> {
  const settings = await context.get<SettingView[]>('/api/settings');
  const kind = settings.find((one) => one.name === name)?.change;
  const path = `/api/settings/${encodeURIComponent(name)}`;
  const setting =
    kind === 'proof' || kind === 'fresh-proof'
      ? await context.decide<SettingView>('PUT', path, { value }, { ...options, fresh: kind === 'fresh-proof' })
      : await context.change<SettingView>('PUT', path, { value }, options);
  return { json: setting, text: `${setting.name} = ${String(setting.value)}` };
}
