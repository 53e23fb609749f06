import { connect, type Socket } from 'node:net';

/**
 * A crowd of clients: opens connections to a port of this machine from ten addresses, a few at a time, sends the beginning of a
 * request on every second one, and ends none of them. Arguments: the port and the number. Prints `opened` at the end, and stays.
 */
const [port, count] = process.argv.slice(2).map(Number);
const AT_ONCE = 100;

const open: Socket[] = [];
let left = count ?? 0;
let underWay = 0;

function openNext(): void {
  if (left === 0) {
    if (underWay === 0) process.stdout.write('opened\n');
    return;
  }
  left--;
  underWay++;
  const number = left;
  const socket = connect({ port: port ?? 0, host: '127.0.0.1', localAddress: `127.0.1.${1 + (number % 10)}` });
  open.push(socket);
  socket.on('error', () => {});
  let isDone = false;
  const done = () => {
    if (isDone) return;
    isDone = true;
    underWay--;
    openNext();
  };
  socket.once('connect', () => {
    if (number % 2 === 0) socket.write('GET /metrics HTTP/1.1\r\nHost: loc');
    done();
  });
  socket.once('close', done);
}

for (let started = 0; started < AT_ONCE; started++) openNext();
setInterval(() => {}, 60_000);
