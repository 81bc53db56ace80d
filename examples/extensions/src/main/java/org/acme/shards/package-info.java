/** Interceptor that sends each call to the worker that has its key. */
package org.acme.shards;
