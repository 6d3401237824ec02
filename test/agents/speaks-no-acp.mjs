// Prints a greeting and reads its stdin without ever answering.
console.log('Welcome to some other program!');
process.stdin.resume();
