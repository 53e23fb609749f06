import { type MessagePort, parentPort } from 'node:worker_threads';
import { useLineKernel } from '../lines/line-kernel.ts';
import { keepMemory, shareMemory } from '../lines/record-buffer.ts';
import { ScanJob } from './scan-job.ts';
import type { ScanRequest } from './scan-protocol.ts';

function serve(port: MessagePort): void {
  let job: ScanJob | undefined;
  port.on('message', (request: ScanRequest) => {
    if (request.kind === 'begin') {
      job = new ScanJob(request.job, request.plan, (reply, transfer) => port.postMessage(reply, transfer));
      // What this rejects with ends the thread, and the other side learns of it.
      void job.run();
    } else if (request.kind === 'memory') keepMemory(Buffer.from(request.memory));
    else if (request.job === job?.id) job.handle(request);
  });
}

if (parentPort) {
  shareMemory();
  useLineKernel();
  serve(parentPort);
}
