import {
  type AnnotationQueryBuilder,
  type Dashboard,
  DashboardBuilder,
  DashboardCursorSync,
  type GridPos,
  type Panel,
  RowBuilder,
} from '@grafana/grafana-foundation-sdk/dashboard';
import { createHeadLinks, type DashboardName, TAG, UIDS } from './links.ts';
import type { SizedPanel } from './panels.ts';
import type { Variable } from './variables.ts';

/** Panels under a headline. */
export interface Section {
  readonly title: string;
  /** Closed at first: nothing of it is asked until somebody opens it. */
  readonly isClosed?: boolean;
  readonly panels: readonly SizedPanel[];
}

export interface DashboardSpec {
  readonly name: DashboardName;
  readonly title: string;
  readonly description: string;
  readonly variables: readonly Variable[];
  readonly annotations?: readonly AnnotationQueryBuilder[];
  /** What is shown at first, such as `now-6h`. */
  readonly from: string;
  readonly sections: readonly Section[];
}

const GRID_WIDTH = 24;
/** Scrapes are seldom more frequent than this, and it spares the server of a dashboard that hangs on a wall. */
const REFRESH = '1m';

/** A dashboard with every panel at its place: the SDK's own layout gives no numbers, and lets lines overflow. */
export function composeDashboard(spec: DashboardSpec): Dashboard {
  const builder = new DashboardBuilder(spec.title)
    .uid(UIDS[spec.name])
    .description(spec.description)
    .tags([TAG])
    .timezone('browser')
    .editable()
    .tooltip(DashboardCursorSync.Crosshair)
    .time({ from: spec.from, to: 'now' })
    .refresh(REFRESH)
    .variables([...spec.variables])
    .annotations([...(spec.annotations ?? [])])
    .links(createHeadLinks(spec.name));
  const grid = new Grid();
  for (const { title, isClosed = false, panels } of spec.sections) {
    const row = new RowBuilder(title).id(grid.nextId()).gridPos(grid.nextRow()).collapsed(isClosed);
    const placed = panels.map((panel) => grid.place(panel));
    if (isClosed) for (const panel of placed) row.withPanel(panel);
    builder.withRow(row);
    if (!isClosed) for (const panel of placed) builder.withPanel(panel);
  }
  return showLinks(builder.build());
}

/** The SDK puts every link behind a menu, and has no word for leaving it where readers look. */
function showLinks(dashboard: Dashboard): Dashboard {
  for (const link of dashboard.links ?? []) delete link.placement;
  return dashboard;
}

/** Fills lines of the grid from left to right, and begins the next one below the highest panel of the line before. */
class Grid {
  #id = 0;
  #x = 0;
  #y = 0;
  #lineHeight = 0;

  nextId(): number {
    return ++this.#id;
  }

  nextRow(): GridPos {
    this.#endLine();
    const place = { x: 0, y: this.#y, w: GRID_WIDTH, h: 1 };
    this.#y += 1;
    return place;
  }

  place({ builder, width, height }: SizedPanel): { build(): Panel } {
    if (this.#x + width > GRID_WIDTH) this.#endLine();
    const panel: Panel = {
      ...builder.build(),
      id: this.nextId(),
      gridPos: { x: this.#x, y: this.#y, w: width, h: height },
    };
    this.#x += width;
    this.#lineHeight = Math.max(this.#lineHeight, height);
    return { build: () => panel };
  }

  #endLine(): void {
    this.#x = 0;
    this.#y += this.#lineHeight;
    this.#lineHeight = 0;
  }
}
