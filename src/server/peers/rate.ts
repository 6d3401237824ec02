/** A bucket that fills by `perSecond` up to `burst`; whoever finds it empty is told to wait. */
export function createRate(
  perSecond: number,
  burst: number,
  now: () => number = () => performance.now(),
): () => boolean {
  let left = burst;
  let at = now();
  return () => {
    const time = now();
    left = Math.min(burst, left + ((time - at) / 1000) * perSecond);
    at = time;
    if (left < 1) return false;
    left -= 1;
    return true;
  };
}
