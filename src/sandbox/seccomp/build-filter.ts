import {
  assemble,
  giveVerdict,
  type Instruction,
  loadArchitecture,
  loadArgument,
  loadNumber,
  verdicts,
  whenAnyBit,
  whenAtLeast,
  whenDifferent,
  whenEqual,
} from './assemble.ts';
import {
  auditNumbers,
  type CallNumbers,
  deniedCalls,
  deniedUnlessNested,
  type FilterArchitecture,
  judgedCalls,
  unknownCalls,
} from './system-calls.ts';

const errno = { EPERM: 1, ENOSYS: 38, EAFNOSUPPORT: 97 } as const;

/** UNIX, INET, INET6, NETLINK. The network namespace does not cut AF_VSOCK: the host would answer. */
const allowedFamilies = [1, 2, 10, 16];

/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. */
const newNamespaceFlags = 0x00020000 | 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000;

/** CLONE_NEWTIME means something else to `clone`, whose low byte is a signal. */
const newTimeFlag = 0x80;

/** TIOCSTI and TIOCLINUX type into a terminal that somebody else reads. */
const typingRequests = [0x5412, 0x541c];

/** System calls of the x32 ABI carry this bit. */
const x32Bit = 0x40000000;

export interface FilterOptions {
  architecture: FilterArchitecture;
  /** Allows new namespaces and `chroot`, for browsers with a sandbox of their own. */
  nested?: boolean;
}

/** Node's name of the processor as ours, or `undefined` where no filter exists. */
export function filterArchitecture(arch: string = process.arch): FilterArchitecture | undefined {
  return ({ x64: 'x86_64', arm64: 'aarch64' } as const)[arch as 'x64' | 'arm64'];
}

/** The seccomp program of a sandbox as bytes: everything allowed but what is listed here and in `system-calls.ts`. */
export function buildFilter({ architecture, nested = false }: FilterOptions): Buffer {
  const numberOf = (numbers: CallNumbers): number | null => numbers[architecture === 'x86_64' ? 0 : 1];
  const answer = (calls: Readonly<Record<string, CallNumbers>>, code: number): Instruction[] =>
    Object.values(calls).flatMap((numbers) => onCall(numberOf(numbers), [giveVerdict(verdicts.fail(code))]));
  return assemble([
    loadArchitecture,
    ...whenDifferent(auditNumbers[architecture], [giveVerdict(verdicts.fail(errno.ENOSYS))]),
    loadNumber,
    ...(architecture === 'x86_64' ? whenAtLeast(x32Bit, [giveVerdict(verdicts.fail(errno.ENOSYS))]) : []),
    ...answer(unknownCalls, errno.ENOSYS),
    ...answer(deniedCalls, errno.EPERM),
    ...(nested ? [] : answer(deniedUnlessNested, errno.EPERM)),
    ...onCall(numberOf(judgedCalls.socket), judgeSocket()),
    ...onCall(numberOf(judgedCalls.ioctl), judgeIoctl()),
    ...(nested ? [] : onCall(numberOf(judgedCalls.clone), judgeFlags(newNamespaceFlags))),
    ...(nested ? [] : onCall(numberOf(judgedCalls.unshare), judgeFlags(newNamespaceFlags | newTimeFlag))),
    giveVerdict(verdicts.allow),
  ]);
}

function onCall(number: number | null, then: readonly Instruction[]): Instruction[] {
  return number === null ? [] : whenEqual(number, then);
}

function judgeSocket(): Instruction[] {
  const allowed = allowedFamilies.flatMap((family) => whenEqual(family, [giveVerdict(verdicts.allow)]));
  return [loadArgument(0), ...allowed, giveVerdict(verdicts.fail(errno.EAFNOSUPPORT))];
}

function judgeIoctl(): Instruction[] {
  const denied = typingRequests.flatMap((request) => whenEqual(request, [giveVerdict(verdicts.fail(errno.EPERM))]));
  return [loadArgument(1), ...denied, giveVerdict(verdicts.allow)];
}

function judgeFlags(mask: number): Instruction[] {
  return [loadArgument(0), ...whenAnyBit(mask, [giveVerdict(verdicts.fail(errno.EPERM))]), giveVerdict(verdicts.allow)];
}
