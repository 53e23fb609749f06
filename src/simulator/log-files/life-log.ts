import type { Clock, Timer } from '../../base/index.ts';
import type { Hardware } from '../device/hardware.ts';
import type { DeviceLife } from '../life/device-life.ts';

/** A change in a router's state, as its log reports it. */
export interface LifeMessage {
  readonly component: string;
  readonly tag: string;
  readonly message: string;
}

/** Interval of the checks in milliseconds. States of a modem last at least five seconds. */
const LOOK_MS = 5000;

/**
 * Writes changes of a router's state into its logs, at most five seconds late: states of its modems, links of its
 * ports, the active WAN chain. So the log agrees with the status. Stops when the result is disposed of.
 */
export function startLifeLog(
  clock: Clock,
  life: DeviceLife,
  hardware: Hardware,
  write: (message: LifeMessage) => void,
): Disposable {
  let known = readFacts(life, hardware);
  let timer: Timer;
  const lookAgain = () => {
    timer = clock.setTimer(LOOK_MS, () => {
      const now = readFacts(life, hardware);
      for (const [fact, { value, render }] of now) {
        const before = known.get(fact)?.value;
        if (before !== undefined && before !== value) write(render());
      }
      known = now;
      lookAgain();
    });
  };
  lookAgain();
  return { [Symbol.dispose]: () => timer.cancel() };
}

/** Something that can change, and the log text for its current value. */
interface Fact {
  readonly value: string;
  readonly render: () => LifeMessage;
}

function readFacts(life: DeviceLife, hardware: Hardware): Map<string, Fact> {
  const facts = new Map<string, Fact>();
  const note = (fact: string, value: string, component: string, tag: string, message: string) =>
    facts.set(fact, { value, render: () => ({ component, tag, message }) });

  hardware.cards.forEach((card, position) => {
    const status = readStatus(life, card);
    const state = status.unique?.['state'];
    const name = hardware.interfaces[position] ?? card;
    if (card.startsWith('lte') && state !== undefined) note(card, state, 'modem', name, `${name}: ${state}`);
    const slot = /^(?:ethernet|sfp)(\d)$/.exec(card)?.[1];
    status.list?.forEach(({ link }, port) => {
      if (slot === undefined || link === undefined) return;
      note(`${card}/${port}`, link, 'system', 'kernel', `${card}: port ${slot}.${port + 1} link ${link}`);
    });
  });
  const chain = readStatus(life, 'sysstat/wan').unique?.['name'];
  if (chain !== undefined) note('wan', chain, 'network', 'wan', `WAN chain in use: ${chain}`);
  return facts;
}

type Texts = Readonly<Record<string, string | undefined>>;

/** A status body; what an override has put there may have any shape, and then there is nothing to tell. */
function readStatus(life: DeviceLife, resource: string): { readonly unique?: Texts; readonly list?: readonly Texts[] } {
  const { unique, list } = (life.read(resource) ?? {}) as { unique?: Texts; list?: Texts[] };
  return { ...(unique && { unique }), ...(Array.isArray(list) && { list }) };
}
