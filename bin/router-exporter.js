#!/usr/bin/env node
// Plain old syntax on purpose: this file must parse on every Node.js, to say which one is needed.
// Without a listener, Node.js opens its debugger on this signal, to everyone on the machine. Listening takes its place.
process.on('SIGUSR1', function () {});
// Half of these threads may resolve names, and each that a name server leaves without an answer is held for ten seconds and more.
// Only set before the first work for them, it counts.
process.env.UV_THREADPOOL_SIZE = process.env.UV_THREADPOOL_SIZE || '24';
var version = process.versions.node.split('.').map(Number);
import('fs').then(function (fs) {
  // An installed package holds dist/ alone; a checkout runs its sources, also if it has an older build.
  var source = new URL('../src/main.ts', import.meta.url);
  var isCheckout = fs.existsSync(source);
  if (version[0] > 24 || (version[0] === 24 && version[1] >= 5)) {
    return import(isCheckout ? source.href : new URL('../dist/main.js', import.meta.url).href);
  }
  var advice = isCheckout ? 'Run `npm ci`, then `npx router-exporter`' : 'Install a newer Node.js';
  var message = 'router-exporter needs Node.js 24.5 or later, and this is ' + process.versions.node;
  process.stderr.write(message + '. ' + advice + '.\n');
  process.exitCode = 2;
});
