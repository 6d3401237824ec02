/** Every number of the specification that the coverage map must answer for, in the order of the map. Gaps are intended. */
export const requirements: readonly string[] = [
  ...numbered('G-', 1, 39),
  ...numbered('S-', 1, 76),
  ...numbered('R-', 1, 44, [43]),
  ...numbered('L-', 1, 67),
  ...numbered('X-', 1, 16),
  ...numbered('A-', 1, 19),
  ...numbered('gate decision ', 1, 12),
  ...numbered('sessions decision ', 1, 12),
  ...numbered('review decision ', 1, 8),
  ...numbered('ledger decision ', 1, 46),
  ...numbered('GT-', 1, 15),
  ...numbered('LT-', 1, 20),
  ...numbered('RT-', 1, 16),
  ...padded('TC-NOM-', 1, 14, [11]),
  ...padded('TC-ERR-', 1, 11),
  ...padded('TC-INV-', 1, 3),
  ...padded('TC-NEG-', 1, 10),
  ...padded('TC-NR-', 1, 4),
  'TC-MAN-01',
  ...numbered('gate attack ', 1, 20, [6, 8, 11, 14, 18]),
  ...numbered('sandbox attack ', 1, 14),
  ...numbered('review scenario ', 1, 18, [4, 5, 9, 12, 14, 16]),
  ...numbered('gate case ', 1, 42),
  ...numbered('sessions case ', 1, 77, [9, 16, 23, 36, 42, 53, 54, 63, 66]),
  ...numbered('review case ', 1, 47),
  ...numbered('ledger case ', 1, 44),
  ...numbered('story ', 1, 10),
];

function numbered(prefix: string, first: number, last: number, gaps: readonly number[] = []): string[] {
  const numbers = Array.from({ length: last - first + 1 }, (_, index) => first + index);
  return numbers.filter((number) => !gaps.includes(number)).map((number) => `${prefix}${number}`);
}

function padded(prefix: string, first: number, last: number, gaps: readonly number[] = []): string[] {
  return numbered('', first, last, gaps).map((number) => `${prefix}${number.padStart(2, '0')}`);
}

/** The fourteen groups of sandbox attacks, in the order of their chapter; tests quote `sandbox attack N`. */
export const sandboxAttacks: readonly string[] = [
  'outside processes: list, environ, kill, ptrace',
  'other sessions’ environment',
  'hidden folders by every kind of path',
  'namespaces: unshare, nested sandbox, setns',
  'mounts and devices',
  'forge objects and refs',
  'kernel settings and cgroups',
  '/etc/shadow and the keyring',
  'daemons and setuid programs',
  'sockets and networks: abstract, loopback, raw, vsock',
  'the proxy: hosts, literals, ports, tricks',
  'session sockets, own journal, inherited descriptors',
  'planted git configuration and a FIFO in the work folder',
  'filling tmpfs, fork bomb',
];
