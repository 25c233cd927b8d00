/** One book as it is served. A table that someone else made is passed on with the columns it has. */
export type Book = Readonly<Record<string, unknown>>;

export interface SampleBook {
  readonly id: number;
  readonly title: string;
  readonly author: string;
  readonly year: number;
}

/** Served without a database, and put into a new one. */
export const sampleBooks: readonly (SampleBook & Book)[] = [
  { id: 1, title: "Middlemarch", author: "George Eliot", year: 1871 },
  { id: 2, title: "The Left Hand of Darkness", author: "Ursula K. Le Guin", year: 1969 },
  { id: 3, title: "Invisible Cities", author: "Italo Calvino", year: 1972 },
  { id: 4, title: "Things Fall Apart", author: "Chinua Achebe", year: 1958 },
  { id: 5, title: "The Master and Margarita", author: "Mikhail Bulgakov", year: 1967 },
];
