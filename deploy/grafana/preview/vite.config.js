// https://vite.dev/config/: one page without minifying, which would only cost time here.
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

export default defineConfig({
  plugins: [react()],
  base: './',
  define: { 'process.env': '{}', 'process.env.NODE_ENV': '"production"', global: 'window' },
  build: { target: 'esnext', minify: false, sourcemap: false, chunkSizeWarningLimit: 1e5, commonjsOptions: { transformMixedEsModules: true } },
});
