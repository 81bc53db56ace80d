/** Options that select recorded messages and calls. */
package io.waybill.cli.select;
