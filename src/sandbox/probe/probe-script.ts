/**
 * What the probe runs inside, as a plain shell script: each line it prints is `effect yes|no`. Arguments: work folder,
 * read-only folder, pid of a process outside, that process's name, pid and network namespace outside, then the paths that
 * must be hidden. Kernel settings are only given the value that they have.
 */
export const probeScript = `
work=$1 readonly=$2 pid=$3 name=$4 pidns=$5 netns=$6; shift 6
say() { if [ "$2" = 0 ]; then echo "$1 yes"; else echo "$1 no"; fi; }
status() { sed -n "s/^$1:[[:space:]]*//p" /proc/self/status; }

hidden=0; for path in "$@"; do [ -e "$path" ] && hidden=1; done; say hidden $hidden
readable=0; for path in "$@"; do { [ -r "$path" ] || [ -w "$path" ]; } && readable=1; done; say unreadable $readable

[ "$(cat "$work/outside")" = seen ] && echo written > "$work/inside"; say writable $?

[ -r "$readonly/file" ] && ! { echo x > "$readonly/file"; } 2>/dev/null && ! { echo x > "$readonly/new"; } 2>/dev/null
say read-only $?

grep -qs "$name" "/proc/$pid/cmdline"; [ $? -ne 0 ]; say outside-process-unreachable $?

[ "$(readlink /proc/self/ns/pid)" != "$pidns" ]; say own-pid-namespace $?

none=0000000000000000
[ "$(status CapInh) $(status CapPrm) $(status CapEff) $(status CapAmb)" = "$none $none $none $none" ]; say no-capabilities $?

[ "$(status Seccomp)" = 2 ]; say seccomp-on $?

pattern=$(cat /proc/sys/kernel/core_pattern)
grep -q ' /proc/sys proc ro[, ]' /proc/self/mounts && ! { echo "$pattern" > /proc/sys/kernel/core_pattern; } 2>/dev/null
say proc-sys-read-only $?

[ "$(id -u)" != 0 ]; say not-root $?

command -v unshare >/dev/null && ! unshare --user true 2>/dev/null; say no-new-user-namespace $?

[ "$(readlink /proc/self/ns/net)" != "$netns" ] && [ "$(grep -c : /proc/net/dev)" = "$(grep -c ' *lo:' /proc/net/dev)" ]
say no-network $?

echo 'reached-end yes'
`;
