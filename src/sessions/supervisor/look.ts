/** A look that is never begun a second time beside itself. */
export interface Look {
  /** Begins one, unless one is under way: that lasts longer than its interval (a slow disk, a database that hangs). */
  begin(): Promise<void>;
  /** As `begin`; one that is under way is followed by another, since it may have seen less. */
  beginAnew(): Promise<void>;
}

/** Runs `work` one at a time. */
export function createLook(work: () => Promise<void>): Look {
  let running: Promise<void> | undefined;
  let again = false;

  async function run(): Promise<void> {
    do {
      again = false;
      await work();
    } while (again);
  }

  const begin = async (): Promise<void> => {
    if (running) return;
    running = run();
    try {
      await running;
    } finally {
      running = undefined;
    }
  };
  return {
    begin,
    beginAnew() {
      again = true;
      return begin();
    },
  };
}
