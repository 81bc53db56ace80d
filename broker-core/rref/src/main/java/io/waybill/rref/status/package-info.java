/** Observable state of references: counts, states, and holders. */
package io.waybill.rref.status;
