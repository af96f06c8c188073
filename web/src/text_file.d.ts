// A file that C++ includes, as text.
declare module '*.txt' {
  const text: string;
  export default text;
}

// pdf.js's bundles have no types of their own.
declare module 'pdfjs-dist/legacy/build/pdf.min.mjs' {
  export * from 'pdfjs-dist';
}
declare module 'pdfjs-dist/legacy/build/pdf.worker.min.mjs';
