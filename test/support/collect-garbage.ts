import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');

/** Lets V8 free what nothing holds, so that what is measured afterwards is in use. */
export const collectGarbage = runInNewContext('gc') as () => void;
