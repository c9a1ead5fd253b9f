/** A filter is read in full before anything is asked: what is longer or deeper than this is refused. */
export const MAX_FILTER_CHARS = 65_536;
/** SQLite allows expressions 100 deep; a level takes one, the innermost test and the query the rest. */
export const MAX_FILTER_LEVELS = 64;
/** A statement binds 100 values at most; the query around the filter has some of its own. */
export const MAX_FILTER_VALUES = 90;
