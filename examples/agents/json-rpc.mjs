/**
 * Newline-delimited JSON-RPC over two streams: what both ACP and MCP speak on stdio. Enough for the scripted agents of the
 * demo and no more.
 */
export function openRpc(input, output, handlers = {}) {
  const waiting = new Map();
  let nextId = 1;
  let buffered = Buffer.alloc(0);

  const send = (message) => output.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);

  input.on('data', (chunk) => {
    buffered = Buffer.concat([buffered, chunk]);
    for (let end = buffered.indexOf(10); end >= 0; end = buffered.indexOf(10)) {
      const line = buffered.subarray(0, end).toString('utf8');
      buffered = buffered.subarray(end + 1);
      if (line.trim() !== '') void receive(JSON.parse(line));
    }
  });
  input.on('end', () => handlers.end?.());

  async function receive(message) {
    if (message.method === undefined) {
      const settle = waiting.get(message.id);
      waiting.delete(message.id);
      if (!settle) return;
      if (message.error) settle.reject(Object.assign(new Error(message.error.message), message.error));
      else settle.resolve(message.result);
      return;
    }
    const handler = handlers[message.method];
    if (message.id === undefined) return void handler?.(message.params ?? {});
    if (!handler) return send({ id: message.id, error: { code: -32601, message: `no method ${message.method}` } });
    try {
      send({ id: message.id, result: (await handler(message.params ?? {})) ?? {} });
    } catch (error) {
      send({ id: message.id, error: { code: -32603, message: error.message } });
    }
  }

  return {
    notify: (method, params) => send({ method, params }),
    request(method, params) {
      const id = nextId++;
      send({ id, method, params });
      return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
    },
  };
}
