import type { MetricType, ValueForm } from '../../model/index.ts';

/** A metric as a module file says it. */
export interface ProposedMetric {
  readonly name: string;
  readonly help: string;
  readonly type: MetricType;
  readonly value?: string;
  readonly unit?: string;
  readonly form?: ValueForm;
  readonly part?: number;
  readonly map?: Readonly<Record<string, number>>;
  readonly null_values?: readonly string[];
  readonly states?: readonly string[];
  readonly state_label?: string;
  readonly labels?: Readonly<Record<string, string>>;
}

/** A resource as a module file says it. */
export interface ProposedResource {
  readonly path: string;
  readonly optional: true;
  readonly each: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly metrics: readonly ProposedMetric[];
}

/** Fields of a place that no metric was made of, by the reason. */
export interface PlaceNotes {
  /** They look like secrets, or tell who or where somebody is. */
  readonly sensitive: readonly string[];
  /** No value was seen. */
  readonly empty: readonly string[];
  /** A module cannot say them, for their names or because they are lists. */
  readonly unsayable: readonly string[];
  /** Beyond what a module may have. */
  readonly excess: readonly string[];
  /** Nothing tells the rows apart, so that their series would be one. */
  readonly isAmbiguous: boolean;
}

/** What a place becomes, and what there is to say about it. */
export interface ProposedPlace {
  readonly path: string;
  /** Empty for the document itself. */
  readonly each: string;
  /** Absent when nothing there can become a metric. */
  readonly resource: ProposedResource | undefined;
  readonly notes: PlaceNotes;
}

export interface ProposedModule {
  readonly name: string;
  readonly help: string;
  /** At least one of them has a resource. */
  readonly places: readonly ProposedPlace[];
}
