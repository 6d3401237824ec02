/** What a terminal is still in after all of `written`: modes that no shell wants, as a person would find it. Empty: as before. */
export function leftOn(written: string): string[] {
  const modes = new Map<string, boolean>();
  const keyboard = { main: 0, alternate: 0 };
  let isStyled = false;
  // oxlint-disable-next-line no-control-regex
  for (const [, prefix = '', params = '', final = ''] of written.matchAll(/\u001B\[([?<>=]?)([0-9;:]*)([A-Za-z])/g)) {
    const screen = modes.get('1049') === true ? 'alternate' : 'main';
    if (prefix === '?' && (final === 'h' || final === 'l'))
      for (const mode of params.split(';')) modes.set(mode, final === 'h');
    // Kitty keeps a stack of keyboard levels for each screen.
    else if (prefix === '>' && final === 'u') keyboard[screen] += 1;
    else if (prefix === '<' && final === 'u') keyboard[screen] = Math.max(0, keyboard[screen] - Number(params || '1'));
    else if (prefix === '' && final === 'm') isStyled = !['', '0'].includes(params);
    else if (prefix === '>' && final === 'm') modes.set('modifyOtherKeys', /^4;[1-9]/.test(params));
  }
  const usuallyOn = new Set(['7', '25', '1007', '2027']);
  const unusual = [...modes].filter(([mode, isOn]) => (usuallyOn.has(mode) ? mode === '25' && !isOn : isOn));
  return [
    ...unusual.map(([mode]) => `mode ${mode}`),
    ...(keyboard.main + keyboard.alternate > 0 ? ['keyboard'] : []),
    ...(isStyled ? ['style'] : []),
  ];
}
