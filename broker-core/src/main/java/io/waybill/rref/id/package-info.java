/** The identities of references, forks and their data in messages. */
package io.waybill.rref.id;
