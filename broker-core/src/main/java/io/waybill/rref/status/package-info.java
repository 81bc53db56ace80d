/** What can be observed of references: counts, states, and who holds them. */
package io.waybill.rref.status;
