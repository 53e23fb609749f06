import { parentPort } from 'node:worker_threads';
import { ArchiveJob } from './archive-job.ts';
import type { Request } from './archive-thread.ts';

let job: ArchiveJob | undefined;
const port = parentPort;
port?.on('message', (request: Request) => {
  if (request.kind === 'begin') {
    job = new ArchiveJob(request, (reply, transfer) => port.postMessage(reply, transfer));
    // What this rejects with ends the thread, and the other side learns of it.
    void job.run();
  } else if (request.job === job?.id) job.handle(request);
});
