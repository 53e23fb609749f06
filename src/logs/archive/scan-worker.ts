import { type MessagePort, parentPort } from 'node:worker_threads';
import { ScanJob } from './scan-job.ts';
import type { ScanRequest } from './scan-protocol.ts';

function serve(port: MessagePort): void {
  let job: ScanJob | undefined;
  port.on('message', (request: ScanRequest) => {
    if (request.kind === 'begin') {
      job = new ScanJob(request.job, request.plan, (reply, transfer) => port.postMessage(reply, transfer));
      // What this rejects with ends the thread, and the other side learns of it.
      void job.run();
    } else if (request.job === job?.id) job.handle(request);
  });
}

if (parentPort) serve(parentPort);
