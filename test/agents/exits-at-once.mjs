// Complains on stderr and exits with code 3 before it says anything.
process.stderr.write('no licence found\n');
process.exitCode = 3;
