#!/usr/bin/env node
// Lets `npx router-exporter` work in a checkout with every npm: older ones do not put node_modules/.bin on the path for the bin of the root package itself.
await import('../../bin/router-exporter.js');
