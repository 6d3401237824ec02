import type { Socket } from 'node:net';

import { connectTarget, deny } from './connect-target.ts';
import { joinSockets } from './join-sockets.ts';
import type { WallSession } from './sessions.ts';

/** First byte of every SOCKS5 connection; no HTTP request starts with it. */
export const socksVersion = 5;

const replies = { granted: 0, notAllowed: 2, hostUnreachable: 4, commandNotSupported: 7 } as const;
const maxHandshakeBytes = 1_024;

/** Speaks SOCKS5 (RFC 1928) with names resolved by the wall (`socks5h`): no authentication, CONNECT only, no addresses. */
export async function serveSocks(session: WallSession, client: Socket): Promise<void> {
  const reader = readExactly(client);
  try {
    const [, methodCount = 0] = await reader.take(2);
    const methods = await reader.take(methodCount);
    if (!methods.includes(0)) {
      client.end(Buffer.from([socksVersion, 0xff]));
      return;
    }
    client.write(Buffer.from([socksVersion, 0]));
    const [, command, , addressType] = await reader.take(4);
    const host = await readHost(reader, addressType ?? 0);
    const port = (await reader.take(2)).readUInt16BE(0);
    if (command !== 1) {
      client.end(reply(replies.commandNotSupported));
      return;
    }
    const answer =
      host.length === 0 ? deny(session, host, port, 'malformed') : await connectTarget(session, host, port);
    if (answer.kind !== 'connected') {
      client.end(reply(answer.kind === 'denied' ? replies.notAllowed : replies.hostUnreachable));
      return;
    }
    client.write(reply(replies.granted));
    const rest = reader.release();
    if (rest.length > 0) answer.socket.write(rest);
    joinSockets(client, answer.socket);
  } catch {
    client.destroy(); // ended or talked nonsense in the middle of the handshake
  }
}

async function readHost(reader: ExactReader, addressType: number): Promise<string> {
  if (addressType === 1) return [...(await reader.take(4))].join('.');
  if (addressType === 4) {
    const groups = (await reader.take(16)).toString('hex').match(/.{4}/g) ?? [];
    return groups.join(':');
  }
  if (addressType !== 3) throw new Error('unknown address type');
  const [length = 0] = await reader.take(1);
  return (await reader.take(length)).toString('latin1');
}

function reply(code: number): Buffer {
  return Buffer.from([socksVersion, code, 0, 1, 0, 0, 0, 0, 0, 0]);
}

interface ExactReader {
  take(length: number): Promise<Buffer>;
  /** Stops reading and gives back what came beyond the handshake. */
  release(): Buffer;
}

function readExactly(socket: Socket): ExactReader {
  let held: Buffer = Buffer.alloc(0);
  let wake: (() => void) | undefined;
  let ended = false;
  const onData = (chunk: Buffer): void => {
    held = Buffer.concat([held, chunk]);
    if (held.length > maxHandshakeBytes) socket.pause();
    wake?.();
  };
  const onEnd = (): void => {
    ended = true;
    wake?.();
  };
  socket.on('data', onData);
  socket.on('end', onEnd);
  socket.on('close', onEnd);
  return {
    async take(length) {
      while (held.length < length) {
        if (ended) throw new Error('the client ended');
        await new Promise<void>((resolve) => (wake = resolve));
      }
      const taken = held.subarray(0, length);
      held = held.subarray(length);
      return taken;
    },
    release() {
      socket.off('data', onData);
      socket.off('end', onEnd);
      return held;
    },
  };
}
