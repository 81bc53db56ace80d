/** Class rewriting and levels that keep a bundle from ending the process, and that note its unrecorded inputs. */
package io.waybill.osgi.guard;
