// A file that C++ includes, as text.
declare module '*.txt' {
  const text: string;
  export default text;
}

declare const PDF_WORKER_ADDRESS: string; // of parts/pdf_worker.ts, which build.mjs sets

interface Window {
  trustedTypes?: { createPolicy(name: string, rules: { createScriptURL: (url: string) => string }): { createScriptURL(url: string): unknown } };
}

// pdf.js's bundles have no types of their own.
declare module 'pdfjs-dist/legacy/build/pdf.min.mjs' {
  export * from 'pdfjs-dist';
}
declare module 'pdfjs-dist/legacy/build/pdf.worker.min.mjs';
