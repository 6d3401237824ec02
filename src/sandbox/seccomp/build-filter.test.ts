import { describe, expect, test } from 'vitest';

import { buildFilter, filterArchitecture } from './build-filter.ts';
import { auditNumbers, type FilterArchitecture } from './system-calls.ts';

interface Call {
  number: number;
  args?: readonly number[];
  audit?: number;
}

/** Runs the program as the kernel does; only the operations that we use. */
function verdictOf(program: Buffer, architecture: FilterArchitecture, call: Call): number {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(call.number, 0);
  data.writeUInt32LE(call.audit ?? auditNumbers[architecture], 4);
  (call.args ?? []).forEach((value, index) => data.writeBigUInt64LE(BigInt(value), 16 + 8 * index));
  let loaded = 0;
  for (let at = 0; at < program.length / 8; at += 1) {
    const code = program.readUInt16LE(at * 8);
    const operand = program.readUInt32LE(at * 8 + 4);
    if (code === 0x06) return operand;
    if (code === 0x20) loaded = data.readUInt32LE(operand);
    else {
      const holds = { 0x15: loaded === operand, 0x35: loaded >= operand, 0x45: (loaded & operand) !== 0 }[code];
      if (holds === undefined) throw new Error(`unknown operation ${code}`);
      at += program.readUInt8(at * 8 + (holds ? 2 : 3));
    }
  }
  throw new Error('the program ran off its end');
}

const allow = 0x7fff0000;
const fails = (errno: number): number => 0x50000 | errno;

/** Numbers by hand from the kernel's tables, not from ours. */
const numbers = {
  x86_64: {
    read: 0,
    socket: 41,
    clone: 56,
    unshare: 272,
    ioctl: 16,
    mount: 165,
    clone3: 435,
    io_uring_setup: 425,
    setns: 308,
    keyctl: 250,
    bpf: 321,
    chroot: 161,
    ptrace: 101,
  },
  aarch64: {
    read: 63,
    socket: 198,
    clone: 220,
    unshare: 97,
    ioctl: 29,
    mount: 40,
    clone3: 435,
    io_uring_setup: 425,
    setns: 268,
    keyctl: 219,
    bpf: 280,
    chroot: 51,
    ptrace: 117,
  },
} as const;

describe.each(['x86_64', 'aarch64'] as const)('the filter for %s (X-5)', (architecture) => {
  const program = buildFilter({ architecture });
  const nested = buildFilter({ architecture, nested: true });
  const n = numbers[architecture];
  const judge = (number: number, ...args: number[]): number => verdictOf(program, architecture, { number, args });

  test('lets ordinary calls pass', () => {
    expect([judge(n.read), judge(n.ptrace), judge(n.ioctl, 0, 0x5401)]).toEqual([allow, allow, allow]);
  });

  test('allows UNIX, INET, INET6 and NETLINK sockets only', () => {
    expect([1, 2, 10, 16].map((family) => judge(n.socket, family))).toEqual([allow, allow, allow, allow]);
    for (const family of [0, 3, 17, 38, 40, 44]) expect(judge(n.socket, family)).toBe(fails(97));
    // The kernel reads an int: what stands above it must not help.
    expect(judge(n.socket, 2 ** 32 + 40)).toBe(fails(97));
  });

  test('allows threads and children, but no new namespace', () => {
    expect(judge(n.clone, 0x003d0f00)).toBe(allow);
    expect(judge(n.clone, 0x11)).toBe(allow);
    expect(judge(n.unshare, 0x400)).toBe(allow);
    for (const flag of [0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000]) {
      expect(judge(n.clone, flag | 0x11)).toBe(fails(1));
      expect(judge(n.unshare, flag)).toBe(fails(1));
    }
    expect(judge(n.unshare, 0x80)).toBe(fails(1));
  });

  test('answers clone3 and io_uring as an old kernel would, and foreign calls as unknown', () => {
    for (const number of [n.clone3, n.io_uring_setup, 426, 427]) expect(judge(number)).toBe(fails(38));
    expect(verdictOf(program, architecture, { number: n.read, audit: 0x40000003 })).toBe(fails(38));
    if (architecture === 'x86_64') expect(judge(0x40000000 | n.read)).toBe(fails(38));
  });

  test('denies what changes the sandbox or opens the kernel', () => {
    for (const number of [n.mount, n.setns, n.keyctl, n.bpf, n.chroot, 428, 429, 430, 432, 442])
      expect(judge(number)).toBe(fails(1));
    expect([0x5412, 0x541c].map((request) => judge(n.ioctl, 0, request))).toEqual([fails(1), fails(1)]);
  });

  test('nested, allows namespaces and chroot, still no mount (X-11)', () => {
    const judgeNested = (number: number, ...args: number[]) => verdictOf(nested, architecture, { number, args });
    expect(judgeNested(n.unshare, 0x10000000)).toBe(allow);
    expect(judgeNested(n.clone, 0x10000011)).toBe(allow);
    expect(judgeNested(n.chroot)).toBe(allow);
    expect([n.mount, n.setns, 430].map((number) => judgeNested(number))).toEqual([fails(1), fails(1), fails(1)]);
    expect(judgeNested(n.socket, 40)).toBe(fails(97));
  });
});

test('knows the processors that it has a filter for (X-5)', () => {
  expect(['x64', 'arm64', 'riscv64'].map(filterArchitecture)).toEqual(['x86_64', 'aarch64', undefined]);
});
