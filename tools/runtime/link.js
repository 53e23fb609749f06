// Runs as `prepare`, after `npm ci` in a checkout. npm 10 links node_modules/.bin/node and then removes it again together
// with the package of the other architecture, which has a bin of the same name. This puts the link back.
import { existsSync, symlinkSync } from 'node:fs';

const target = `../node-linux-${process.arch}/bin/node`;
const bin = new URL('../../node_modules/.bin/', import.meta.url);
if (existsSync(new URL(target, bin)) && !existsSync(new URL('node', bin))) symlinkSync(target, new URL('node', bin));
