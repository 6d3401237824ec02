/** One instruction of classic BPF: operation, jump distances when true and false, operand. */
export type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, operand: number];

const loadWord = 0x20; // BPF_LD | BPF_W | BPF_ABS
const jumpIfEqual = 0x15; // BPF_JMP | BPF_JEQ | BPF_K
const jumpIfAtLeast = 0x35; // BPF_JMP | BPF_JGE | BPF_K
const jumpIfAnyBit = 0x45; // BPF_JMP | BPF_JSET | BPF_K
const returnValue = 0x06; // BPF_RET | BPF_K

/** Offsets in the kernel's `struct seccomp_data`. */
const offsets = { number: 0, architecture: 4, firstArgument: 16 };

/** What the kernel does with a system call. */
export const verdicts = {
  allow: 0x7fff0000,
  /** The call fails with this error number. */
  fail: (errno: number): number => 0x00050000 | errno,
};

export const loadNumber: Instruction = [loadWord, 0, 0, offsets.number];
export const loadArchitecture: Instruction = [loadWord, 0, 0, offsets.architecture];

/** The low 32 bits of argument `index`; all that the kernel itself looks at for the calls we judge. */
export function loadArgument(index: number): Instruction {
  return [loadWord, 0, 0, offsets.firstArgument + 8 * index];
}

/** Ends the filter with `verdict`. */
export function giveVerdict(verdict: number): Instruction {
  return [returnValue, 0, 0, verdict];
}

/** Runs `then` when the loaded word equals `operand`, else skips it. `then` must end in a verdict. */
export function whenEqual(operand: number, then: readonly Instruction[]): Instruction[] {
  return [[jumpIfEqual, 0, then.length, operand], ...then];
}

/** Runs `then` when the loaded word differs from `operand`. */
export function whenDifferent(operand: number, then: readonly Instruction[]): Instruction[] {
  return [[jumpIfEqual, then.length, 0, operand], ...then];
}

/** Runs `then` when the loaded word is at least `operand`, unsigned. */
export function whenAtLeast(operand: number, then: readonly Instruction[]): Instruction[] {
  return [[jumpIfAtLeast, 0, then.length, operand], ...then];
}

/** Runs `then` when any bit of `mask` is set in the loaded word. */
export function whenAnyBit(mask: number, then: readonly Instruction[]): Instruction[] {
  return [[jumpIfAnyBit, 0, then.length, mask], ...then];
}

/** The bytes of `struct sock_filter[]`, as `bubblewrap --seccomp` reads them; both of our architectures are little-endian. */
export function assemble(instructions: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(instructions.length * 8);
  instructions.forEach(([code, ifTrue, ifFalse, operand], index) => {
    if (ifTrue > 255 || ifFalse > 255) throw new Error(`jump of instruction ${index} is longer than 255`);
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(ifTrue, index * 8 + 2);
    bytes.writeUInt8(ifFalse, index * 8 + 3);
    bytes.writeUInt32LE(operand >>> 0, index * 8 + 4);
  });
  return bytes;
}
