#!/usr/bin/env node
// Lets `npx router-exporter` work in a checkout with every npm: older ones do not put node_modules/.bin on the path for the bin of the root package itself.
// Without a listener, Node.js opens its debugger on this signal.
process.on('SIGUSR1', () => {});
await import('../../bin/router-exporter.js');
