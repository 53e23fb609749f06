/** The series of bench/scrape.ts and bench/scrape-http.ts. */
import { Gauge, Registry } from 'prom-client';
import { FleetExposition } from '../src/exposition/index.ts';
import type { MetricFamily } from '../src/model/index.ts';

export const FAMILIES = 25;
export const SAMPLES_PER_FAMILY = 4;

function createFamilies(round: number): MetricFamily[] {
  return Array.from({ length: FAMILIES }, (_none, family) => ({
    name: `router_family_${family}_bytes`,
    help: 'A family.',
    type: 'gauge',
    samples: Array.from({ length: SAMPLES_PER_FAMILY }, (_nothing, index) => ({
      labels: { interface: `net${index}` },
      value: round * 1000 + family * 10 + index,
    })),
  }));
}

export function fillExposition(routers: number): FleetExposition {
  const exposition = new FleetExposition();
  for (let router = 0; router < routers; router++) {
    const identity = { name: `router-${router}`, labels: { site: `site-${router % 50}` } };
    exposition.publishValues(identity, 'interfaces', createFamilies(router), 1e15);
  }
  return exposition;
}

export function fillRegistry(routers: number): Registry {
  const registry = new Registry();
  const gauges = createFamilies(0).map(
    ({ name, help }) => new Gauge({ name, help, labelNames: ['router', 'site', 'interface'], registers: [registry] }),
  );
  for (let router = 0; router < routers; router++) {
    for (const [index, family] of createFamilies(router).entries()) {
      for (const { labels, value } of family.samples) {
        gauges[index]?.set({ router: `router-${router}`, site: `site-${router % 50}`, ...labels }, value);
      }
    }
  }
  return registry;
}
