#!/usr/bin/perl
# Attacks against the sandbox, run inside it. Each prints one line of JSON: its name, whether it got through, and what it saw.
# Perl, because every Debian has it and it reaches raw system calls. Kernel settings are only given the value that they have.
use strict;
use warnings;
use Socket qw(:all);
use Fcntl;
use POSIX ();
use Time::HiRes qw(time);

my %env    = %ENV;
my $arm    = `uname -m` =~ /aarch64/;
my %number = (
    add_key => [ 248, 217 ], chroot => [ 161, 51 ], clone => [ 56, 220 ], clone3 => [ 435, 435 ], fsopen => [ 430, 430 ],
    io_uring_setup => [ 425, 425 ], keyctl => [ 250, 219 ], mount => [ 165, 40 ], open_by_handle_at => [ 304, 265 ],
    open_tree => [ 428, 428 ], perf_event_open => [ 298, 241 ], prlimit64 => [ 302, 261 ], ptrace => [ 101, 117 ],
    setns => [ 308, 268 ], umount2 => [ 166, 39 ], unshare => [ 272, 97 ], userfaultfd => [ 323, 282 ], bpf => [ 321, 280 ],
    kexec_load => [ 246, 104 ],
);
sub sys { my ( $name, @args ) = @_; return syscall( $number{$name}[ $arm ? 1 : 0 ], @args ) }

# In a child, so that one attack's damage does not help the next.
sub attack {
    my ( $name, $try ) = @_;
    return if $env{A_ONLY} && !grep { $_ eq $name } split /,/, $env{A_ONLY};
    pipe( my $read, my $write ) or die;
    my $pid = fork();
    if ( !defined $pid ) { print qq({"attack":"$name","through":false,"saw":"no process left"}\n); return }
    if ( !$pid ) {
        close $read;
        alarm 5;
        my $saw = eval { $try->() };
        my $error = $@;
        syswrite $write, ( $saw ? "1$saw" : "0" . ( $error || ( defined $saw && $saw eq '' ? '' : "$!" ) ) );
        POSIX::_exit(0);
    }
    close $write;
    my $answer = do { local $/; <$read> } // '';
    waitpid $pid, 0;
    my $through = $answer =~ s/^1// ? 'true' : 'false';
    $answer =~ s/^0//;
    $answer =~ s/[^ -~]|["\\]/ /g;
    printf qq({"attack":"%s","through":%s,"saw":"%s"}\n), $name, $through, substr( $answer, 0, 120 );
}

sub slurp { my ($path) = @_; open( my $file, '<', $path ) or return; local $/; my $text = <$file>; return $text }
sub holds_secret { my ($path) = @_; my $text = slurp($path); return defined $text && $text =~ /\Q$env{A_SECRET}\E/ ? "read $path" : undef }
sub write_to { my ( $path, $flags ) = @_; sysopen( my $file, $path, O_WRONLY | ( $flags // 0 ), 0644 ) or return; return "opened $path" }
sub connect_unix { my ($path) = @_; socket( my $s, AF_UNIX, SOCK_STREAM, 0 ) or return; connect( $s, pack_sockaddr_un($path) ) or return; return "connected to $path" }
sub connect_tcp {
    my ( $family, $address ) = @_;
    socket( my $s, $family, SOCK_STREAM, 0 ) or return;
    connect( $s, $address ) or return;
    return 'connected';
}

# --- other processes
attack 'outside-list' => sub { for my $p ( glob '/proc/[0-9]*' ) { my $text = slurp("$p/cmdline") // ''; return "found $p" if $text =~ /\Q$env{A_VICTIM_NAME}\E/ && $p ne "/proc/$$" } undef };
attack 'outside-environ' => sub { holds_secret("/proc/$env{A_VICTIM}/environ") };
attack 'outside-kill' => sub { kill( 0, $env{A_VICTIM} ) ? (slurp("/proc/$env{A_VICTIM}/cmdline")//'') =~ /\Q$env{A_VICTIM_NAME}\E/ ? 'may signal' : undef : undef };
attack 'outside-ptrace' => sub { my $r = sys( 'ptrace', 16, $env{A_VICTIM} + 0, 0, 0 ); return if $r != 0; waitpid( $env{A_VICTIM}, 0 ); sys( 'ptrace', 17, $env{A_VICTIM} + 0, 0, 0 ); 'attached' };
attack 'session-environ' => sub { for my $p ( glob '/proc/[0-9]*' ) { my $text = slurp("$p/environ") // ''; return "read $p" if $text =~ /\Q$env{A_SECRET}\E-session/ && $p ne "/proc/$$" } undef };

attack 'shared-memory' => sub { my $segments = slurp('/proc/sysvipc/shm') // ''; $segments =~ /^\s*-?\d+\s+$env{A_SEGMENT}\s/m ? 'sees a shared memory segment' : undef };

# --- hidden files
attack 'hidden-token' => sub { holds_secret("$env{A_HOME}/operator.token") };
attack 'hidden-store' => sub { holds_secret("$env{A_HOME}/chantier.db") };
attack 'hidden-journal' => sub { holds_secret("$env{A_HOME}/sessions/s1/1/out.ndjson") };
attack 'hidden-other-session' => sub { holds_secret("$env{A_OTHER}/notes.txt") };
attack 'hidden-proc-1-root' => sub { holds_secret("/proc/1/root$env{A_HOME}/operator.token") };
attack 'hidden-proc-cwd' => sub { chdir $env{A_CLONE}; holds_secret("/proc/self/cwd/../../../home/operator.token") };
attack 'hidden-symlink' => sub { my $l = "$env{A_CLONE}/l$$"; symlink( "$env{A_HOME}/operator.token", $l ) or return; my $r = holds_secret($l); unlink $l; $r };
attack 'hidden-hard-link' => sub { for my $d ( $env{A_CLONE}, '/tmp', $env{A_BASE} ) { my $l = "$d/h$$"; if ( link( "$env{A_HOME}/operator.token", $l ) ) { unlink $l; return "linked into $d" } } undef };
attack 'rename-over-mount' => sub {
    my ($above) = $env{A_CLONE} =~ m{^(.*)/[^/]+$};
    rename( $env{A_CLONE}, "$env{A_CLONE}.moved" ) and return 'moved the mount';
    return unless rename( $above, "$above.moved" );
    rename( "$above.moved", $above );
    # On the sandbox's own tmpfs it has moved nothing but its own view.
    return if $above =~ m{^/tmp/} && ( slurp('/proc/self/mounts') // '' ) =~ m{^tmpfs /tmp tmpfs }m;
    "moved $above";
};
attack 'etc-shadow' => sub { defined slurp('/etc/shadow') ? 'read /etc/shadow' : undef };
attack 'sys-tree' => sub { -e '/sys/fs/cgroup' ? '/sys is there' : undef };
attack 'cgroup-files' => sub { for my $p ( glob('/sys/fs/cgroup/cgroup.procs /sys/fs/cgroup/*/cgroup.procs /sys/fs/cgroup/*/release_agent') ) { return "may write $p" if -w $p && write_to($p) } undef };
attack 'device-nodes' => sub { for my $p (qw(/dev/fuse /dev/kvm /dev/mem /dev/kmem /dev/port /dev/vda /dev/sda /dev/nvme0n1 /dev/loop-control /dev/vsock)) { return "opened $p" if sysopen( my $f, $p, O_RDONLY ) } undef };

# --- what is shown read-only
attack 'forge-objects' => sub { write_to( "$env{A_FORGE}/objects/planted", O_CREAT ) };
attack 'forge-refs' => sub { write_to( "$env{A_FORGE}/refs/heads/planted", O_CREAT ) };
attack 'forge-chmod' => sub { chmod( 0777, "$env{A_FORGE}/objects" ) ? 'changed the mode of the objects' : undef };
attack 'system-write' => sub { for my $d ( '/usr', '/etc', '/', '/dev' ) { if ( write_to( "$d/planted-$$", O_CREAT ) ) { unlink "$d/planted-$$"; return "wrote into $d" } } undef };
attack 'core-pattern' => sub { my $p = '/proc/sys/kernel/core_pattern'; my $value = slurp($p); open( my $f, '>', $p ) or return; print {$f} $value; close($f) ? 'wrote core_pattern' : undef };
attack 'sysrq' => sub { write_to('/proc/sysrq-trigger') };

# --- sockets
attack 'unix-sockets' => sub { for my $p ( split( /:/, $env{A_SOCKETS} ), '/run/docker.sock', '/run/dbus/system_bus_socket', '/run/systemd/private', '/var/run/docker.sock' ) { my $r = connect_unix($p); return $r if $r } undef };
attack 'other-session-socket' => sub { connect_unix( $env{A_OTHER_SOCKET} ) };
attack 'own-socket-unlinked' => sub { unlink('/run/chantier/bridge/victim') ? 'unlinked a socket' : undef };
attack 'own-socket-replaced' => sub { socket( my $s, AF_UNIX, SOCK_STREAM, 0 ); bind( $s, pack_sockaddr_un('/run/chantier/bridge/planted') ) ? 'bound a socket' : undef };
attack 'abstract-socket' => sub { connect_unix("\0$env{A_ABSTRACT}") };
attack 'host-loopback' => sub { connect_tcp( AF_INET, pack_sockaddr_in( $env{A_TCP}, inet_aton('127.0.0.1') ) ) };
attack 'host-address' => sub { return unless $env{A_HOST_ADDRESS}; connect_tcp( AF_INET, pack_sockaddr_in( $env{A_TCP_ANY}, inet_aton( $env{A_HOST_ADDRESS} ) ) ) };
attack 'host-ipv6' => sub { connect_tcp( AF_INET6, pack_sockaddr_in6( $env{A_TCP6}, inet_pton( AF_INET6, '::1' ) ) ) };
attack 'udp' => sub {
    socket( my $s, AF_INET, SOCK_DGRAM, 0 ) or return;
    send( $s, 'ping', 0, pack_sockaddr_in( $env{A_UDP}, inet_aton('127.0.0.1') ) ) or return;
    my $bits = '';
    vec( $bits, fileno($s), 1 ) = 1;
    return unless select( $bits, undef, undef, 0.3 );
    recv( $s, my $answer, 100, 0 );
    ( $answer // '' ) eq 'pong' ? 'answered' : undef;
};
attack 'name-server' => sub { $SIG{ALRM} = sub { die 'no answer' }; alarm 2; my $address = gethostbyname( $env{A_HOST_NAME} ); $address ? 'resolved' : undef };
attack 'raw-socket' => sub { socket( my $s, AF_INET, SOCK_RAW, 1 ) ? 'made a raw socket' : undef };
attack 'packet-socket' => sub { socket( my $s, 17, SOCK_RAW, 0x0300 ) ? 'made a packet socket' : undef };
attack 'vsock' => sub { socket( my $s, 40, SOCK_STREAM, 0 ) ? 'made a vsock' : undef };

# --- descriptors
attack 'inherited-descriptors' => sub { for my $fd ( 3 .. 255 ) { if ( open( my $f, '<&=', $fd ) ) { local $/; my $text = <$f>; return "read descriptor $fd" if defined $text && $text =~ /\Q$env{A_SECRET}\E/ } } undef };
attack 'own-journal' => sub { for my $fd ( 1, 2 ) { sysopen( my $f, "/proc/self/fd/$fd", O_RDWR ) or next; return "opened descriptor $fd again" if -f $f && truncate( $f, 0 ) } undef };

# --- the kernel's doors
my %namespace = ( mount => 0x20000, cgroup => 0x2000000, uts => 0x4000000, ipc => 0x8000000, user => 0x10000000, pid => 0x20000000, net => 0x40000000 );
attack 'unshare-user' => sub { sys( 'unshare', $namespace{user} ) == 0 ? 'new user namespace' : undef };
attack 'unshare-all' => sub { my $flags = 0; $flags |= $_ for values %namespace; sys( 'unshare', $flags ) == 0 ? 'new namespaces' : undef };
attack 'clone-user' => sub { my $pid = sys( 'clone', $namespace{user} | 17, 0, 0, 0, 0 ); if ( $pid == 0 ) { POSIX::_exit(0) } $pid > 0 ? 'cloned into a user namespace' : undef };
attack 'clone3' => sub { my $args = pack( 'Q11', $namespace{user}, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0 ); my $pid = sys( 'clone3', $args, 88 ); if ( $pid == 0 ) { POSIX::_exit(0) } $pid > 0 ? 'clone3 works' : undef };
attack 'unshare-program' => sub { system('unshare --user --map-root-user true >/dev/null 2>&1') == 0 ? 'unshare worked' : undef };
attack 'nested-bubblewrap' => sub { system('bwrap --unshare-user --ro-bind / / true >/dev/null 2>&1') == 0 ? 'bubblewrap worked' : undef };
attack 'setns' => sub { open( my $f, '<', '/proc/self/ns/uts' ) or return; sys( 'setns', fileno($f), 0 ) == 0 ? 'entered a namespace' : undef };
attack 'io-uring' => sub { my $params = "\0" x 120; sys( 'io_uring_setup', 1, $params ) >= 0 ? 'io_uring works' : undef };
attack 'keyring' => sub { my ( $type, $name, $secret ) = ( 'user', 'planted', 'x' ); my $made = sys( 'add_key', $type, $name, $secret, 1, -2 ); my $ring = sys( 'keyctl', 0, -3, 0 ); $made > 0 || $ring > 0 ? 'the keyring answers' : undef };
attack 'userfaultfd' => sub { sys( 'userfaultfd', 1 ) >= 0 ? 'made a userfaultfd' : undef };
attack 'bpf' => sub { my $attr = pack( 'L4', 2, 4, 4, 1 ) . "\0" x 112; sys( 'bpf', 0, $attr, 128 ) >= 0 ? 'made a map' : undef };
attack 'perf' => sub { my $attr = pack( 'L2Q', 1, 128, 0 ) . "\0" x 112; sys( 'perf_event_open', $attr, 0, -1, -1, 0 ) >= 0 ? 'counts events' : undef };
attack 'open-by-handle' => sub { my $handle = pack( 'L2Q', 8, 1, 2 ); my $r = sys( 'open_by_handle_at', -100, $handle, 0 ); $r >= 0 || $!{ESTALE} || $!{EINVAL} ? 'the kernel looks the handle up' : undef };
attack 'mknod' => sub { system("mknod /tmp/mem$$ c 1 1 2>/dev/null") == 0 ? 'made a device' : undef };
attack 'fsopen' => sub { my $type = 'tmpfs'; sys( 'fsopen', $type, 0 ) >= 0 ? 'opened a file system' : undef };
attack 'open-tree' => sub { my $path = '/'; sys( 'open_tree', -100, $path, 0x8001 ) >= 0 ? 'copied the tree' : undef };
attack 'chroot' => sub { my $path = '/tmp'; sys( 'chroot', $path ) == 0 ? 'changed the root' : undef };
attack 'mount-tmpfs' => sub { my ( $type, $on ) = ( 'tmpfs', '/var/tmp' ); sys( 'mount', $type, $on, $type, 0, 0 ) == 0 ? 'mounted' : undef };
attack 'mount-bind' => sub { my ( $from, $on ) = ( '/usr', '/var/tmp' ); sys( 'mount', $from, $on, 0, 4096, 0 ) == 0 ? 'mounted' : undef };
attack 'umount' => sub { my $path = '/var/tmp'; sys( 'umount2', $path, 2 ) == 0 ? 'unmounted' : undef };
attack 'setuid-program' => sub {
    my $pid = open( my $out, '-|', 'sleep 0.2 | su root -c id 2>&1' );
    my $seen = '';
    for my $p ( glob '/proc/[0-9]*' ) { my $status = slurp("$p/status") // ''; $seen = 'su runs as root' if $status =~ /^Name:\s+su$/m && $status =~ /^Uid:\s+\d+\s+0\s/m && $< != 0 }
    $seen || undef;
};
attack 'services' => sub { for my $c ( 'systemd-run --user true', 'systemd-run true', 'crontab -l', 'at -l', 'docker ps', 'tmux ls', 'ssh-add -l', 'busctl list', 'sudo -n true' ) { my ($p) = split / /, $c; next if system("command -v $p >/dev/null 2>&1"); return "$c worked" if system("$c >/dev/null 2>&1 </dev/null") == 0 } undef };

# --- eating up (last: they leave nothing for the others)
attack 'fill-tmp' => sub { fill('/tmp') };
attack 'fill-shm' => sub { fill('/dev/shm') };
sub fill {
    my ($folder) = @_;
    my ( $wrote, $chunk ) = ( 0, 'x' x 1048576 );
    open( my $file, q(>), "$folder/big" ) or return;
    for ( 1 .. $env{A_FILL_MIB} ) { my $n = syswrite( $file, $chunk ); last unless $n; $wrote += $n }
    unlink "$folder/big";
    $wrote >= $env{A_FILL_MIB} * 1048576 ? "wrote $wrote bytes" : undef;
}
attack 'fork-bomb' => sub {
    my @children;
    for ( 1 .. $env{A_FORKS} ) { my $pid = fork(); last unless defined $pid; if ( !$pid ) { sleep 5; POSIX::_exit(0) } push @children, $pid }
    my $count = @children;
    kill 9, @children;
    waitpid $_, 0 for @children;
    $count >= $env{A_FORKS} ? "made $count processes" : undef;
};
print qq({"attack":"end","through":false,"saw":""}\n);
