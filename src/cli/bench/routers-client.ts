import type { Clock } from '../../base/index.ts';
import { OtherProcess } from '../other-process.ts';
import type { Order, Report } from './messages.ts';

/** The process of the stub routers, seen from the one that measures. */
export class RoutersClient extends OtherProcess<Order, Report> {
  /** `program`: the main file of this program. */
  constructor(program: string, clock: Clock) {
    super({ program, command: 'bench-routers', role: 'stub routers', clock });
  }
}
