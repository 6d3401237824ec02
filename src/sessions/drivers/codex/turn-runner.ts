/** One line of `in.ndjson` for the runner; see `buildTurnRunner` for why its form is fixed. */
export type RunnerOrder =
  | { kind: 'prompt'; promptId: string; thread: string; text: string }
  | { kind: 'cancel'; promptId: string };

const idPattern = /^[\w.:-]{0,200}$/;

/**
 * The `/bin/sh` text that runs turns: `codex exec` is one process for a prompt and ends with it, so this stays, reads one
 * order a line and starts a process for each, which resumes the thread that the order names. It tells on stdout, between the
 * lines of codex: `chantier.ready`, `chantier.turn`, `chantier.turn-exited`. Orders are JSON in one fixed form (no spaces,
 * members in this order, text in base64), so that the shell can take them apart by pattern.
 *
 * A cancel sends SIGINT, which codex obeys and passes to its tools; the end of stdin does the same and ends the runner.
 */
export function buildTurnRunner(words: readonly string[], flags: readonly string[]): string {
  const program = words.map(quote).join(' ');
  const options = flags.map(quote).join(' ');
  return `turn=
version=$(${program} --version 2>/dev/null </dev/null) || version=
version=\${version%%[!A-Za-z0-9\\ ._-]*}
printf '{"type":"chantier.ready","version":"%s"}\\n' "$version"

run_turn() {
  codex=
  trap '[ -n "$codex" ] && kill -INT "$codex" 2>/dev/null' TERM
  printf '{"type":"chantier.turn","promptId":"%s"}\\n' "$1"
  if [ -n "$2" ]; then printf '%s' "$3" | base64 -d | ${program} ${options} resume "$2" - &
  else printf '%s' "$3" | base64 -d | ${program} ${options} - &
  fi
  codex=$!
  while wait "$codex"; code=$?; kill -0 "$codex" 2>/dev/null; do :; done
  printf '\\n{"type":"chantier.turn-exited","promptId":"%s","code":%s}\\n' "$1" "$code"
}

end_turn() {
  [ -n "$turn" ] || return 0
  kill -TERM "$turn" 2>/dev/null
  wait "$turn"
  turn=
}

trap 'end_turn; exit 143' TERM
while IFS= read -r line; do
  id=\${line#*'"promptId":"'}
  id=\${id%%'"'*}
  case $line in
  '{"kind":"prompt",'*)
    [ -n "$turn" ] && wait "$turn"
    thread=\${line#*'"thread":"'}
    thread=\${thread%%'"'*}
    text=\${line#*'"text":"'}
    text=\${text%'"}'}
    run_turn "$id" "$thread" "$text" &
    turn=$!
    ;;
  '{"kind":"cancel",'*)
    [ -n "$turn" ] && kill -TERM "$turn" 2>/dev/null
    ;;
  esac
done
end_turn
`;
}

/** An order as the runner reads it. */
export function orderFrame(order: RunnerOrder): string {
  if (!idPattern.test(order.promptId)) throw new Error(`a prompt id cannot be ${JSON.stringify(order.promptId)}`);
  if (order.kind === 'cancel') return JSON.stringify({ kind: 'cancel', promptId: order.promptId });
  if (!idPattern.test(order.thread)) throw new Error(`a thread cannot be ${JSON.stringify(order.thread)}`);
  const text = Buffer.from(order.text).toString('base64');
  return JSON.stringify({ kind: 'prompt', promptId: order.promptId, thread: order.thread, text });
}

/** One word of a POSIX shell, whatever it holds. */
function quote(word: string): string {
  if (word.includes('\0')) throw new Error('a shell word cannot hold a NUL character');
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
