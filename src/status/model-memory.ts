/** Models that are remembered: more than one fleet has. */
const MODELS_MAX = 1000;
/** Resources that are remembered of a model: more than all modules have. */
const RESOURCES_MAX = 5000;

/**
 * Resources that the routers of each model (product, boards and firmware) have and lack: a first guess for the next
 * router of the model. It is no more than that: cards of compact devices are not among their boards.
 */
export class ModelMemory {
  readonly #models = new Map<string, Map<string, 'some' | 'none'>>();

  /** Records that a router of the model has a resource, or lacks it. */
  learn(model: string, resource: string, isLacking: boolean): void {
    const known = this.#models.get(model) ?? new Map<string, 'some' | 'none'>();
    if (!this.#models.has(model) && this.#models.size >= MODELS_MAX) return;
    this.#models.set(model, known);
    if (isLacking && (known.has(resource) || known.size >= RESOURCES_MAX)) return;
    known.set(resource, isLacking ? 'none' : 'some');
  }

  /** Returns whether `some` or `none` of the routers of the model were found to have a resource; `undefined` if none was asked. */
  find(model: string, resource: string): 'some' | 'none' | undefined {
    return this.#models.get(model)?.get(resource);
  }
}
