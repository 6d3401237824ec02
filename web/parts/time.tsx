/** How long ago `at` (RFC 3339) was, in the largest unit that fits; the exact moment as tooltip. */
export function Ago({ at }: { at: string }) {
  const seconds = Math.max(0, Math.round((Date.now() - Date.parse(at)) / 1000));
  return (
    <time dateTime={at} title={at}>
      {spell(seconds)}
    </time>
  );
}

function spell(seconds: number): string {
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}
