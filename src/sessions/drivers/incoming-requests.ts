/** A request's id as the agent chose it. */
export type RequestKey = number | string;

/** A request of the agent that we have not answered. */
export interface IncomingRequest {
  /** `<id as JSON>@<journal offset>`: one request for good, also where the agent uses an id again. */
  requestId: string;
  rpcId: RequestKey;
  method: string;
  params: Record<string, unknown>;
  /** The agent took it back; it still wants an answer. */
  isWithdrawn: boolean;
}

export type Settlement = 'answer' | 'cancel' | 'agent' | 'end';

/**
 * The agent's requests, keyed by its own ids (ours overlap with them: pending requests are keyed by direction and id). While
 * the files are replayed our answers are read before the requests they belong to; they are kept until those come.
 */
export class IncomingRequests {
  readonly #open = new Map<string, IncomingRequest>();
  readonly #settled = new Map<string, Settlement>();
  readonly #answersAhead = new Map<string, Settlement[]>();

  /** A request came. Answers how it was settled already, or `undefined` when it is open now. */
  receive(request: IncomingRequest): Settlement | undefined {
    const ahead = this.#answersAhead.get(keyOf(request.rpcId))?.shift();
    if (ahead) this.#settled.set(request.requestId, ahead);
    else this.#open.set(request.requestId, request);
    return ahead;
  }

  /** Our answer to `rpcId` stands in the file. Answers the request that it settles, if that is known yet. */
  settle(rpcId: RequestKey, by: Settlement): IncomingRequest | undefined {
    const request = [...this.#open.values()].find((each) => keyOf(each.rpcId) === keyOf(rpcId));
    if (!request) {
      const key = keyOf(rpcId);
      this.#answersAhead.set(key, [...(this.#answersAhead.get(key) ?? []), by]);
      return undefined;
    }
    this.#open.delete(request.requestId);
    this.#settled.set(request.requestId, request.isWithdrawn ? 'agent' : by);
    return request;
  }

  /** The agent does not want an answer to `rpcId` any more. */
  withdraw(rpcId: unknown): void {
    for (const request of this.#open.values()) if (request.rpcId === rpcId) request.isWithdrawn = true;
  }

  /** The process is gone: nothing can be answered any more. */
  end(): IncomingRequest[] {
    const ended = this.open();
    for (const { requestId } of ended) this.#settled.set(requestId, 'end');
    this.#open.clear();
    return ended;
  }

  open(): IncomingRequest[] {
    return [...this.#open.values()];
  }

  find(requestId: string): IncomingRequest | undefined {
    return this.#open.get(requestId);
  }

  /** How a request was settled, if it was. */
  settlementOf(requestId: string): Settlement | undefined {
    return this.#settled.get(requestId);
  }
}

function keyOf(id: RequestKey): string {
  return JSON.stringify(id);
}
